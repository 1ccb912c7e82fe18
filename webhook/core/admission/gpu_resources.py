"""Extended resources that hand out accelerators without DRA, as data.

A container that requests one of them beside a claim gets two devices, or the same device twice: the systems do not know
of each other's allocations. Resources of network devices (nvidia.com/hostdev) and of monitoring agents
(gpu.intel.com/i915_monitoring, which all containers of a node may share) are not accelerators.
"""

import re
from collections.abc import Collection

DEVICE_CLASS_PREFIX = "deviceclass.resource.kubernetes.io/"
"""Prefix of the implicit extended resource of a DeviceClass (KEP-5004): the API server makes a claim of its own."""

DEVICE_PLUGINS = {
    r"nvidia\.com/(gpu|mig-)": "https://github.com/NVIDIA/k8s-device-plugin",
    r"amd\.com/(gpu|[sdqc]px_)": "https://github.com/ROCm/k8s-device-plugin",
    r"gpu\.intel\.com/(i915|xe)|intel\.com/gpu": "https://github.com/intel/intel-device-plugins-for-kubernetes",
    r"habana\.ai/gaudi": "https://docs.habana.ai/en/latest/Orchestration/Gaudi_Kubernetes/",
    r"google\.com/tpu": "https://cloud.google.com/kubernetes-engine/docs/concepts/tpus",
}
"""Start of a resource name → source. Device plugins of the vendors that have a built-in profile, and of their kin."""

OTHER_ALLOCATORS = {
    # Schedulers and virtualizations that share the cards of several vendors.
    r"volcano\.sh/v?gpu-": "https://github.com/volcano-sh/devices",
    r"aliyun\.com/gpu": "https://github.com/AliyunContainerService/gpushare-scheduler-extender",
    r"4pd\.io/v?gpu": "https://github.com/4paradigm/k8s-vgpu-scheduler",
    r"koordinator\.sh/gpu": "https://koordinator.sh/docs/user-manuals/fine-grained-device-scheduling/",
    r"tencent\.com/vcuda-": "https://github.com/tkestack/gpu-manager",
    r"tke\.cloud\.tencent\.com/qgpu-": "https://www.tencentcloud.com/document/product/457/42973",
    r"elasticgpu\.io/gpu-": "https://github.com/elastic-ai/elastic-gpu",
    r"baidu\.com/(\w+_)?(cgpu|xpu)": "https://cloud.baidu.com/doc/CCE/index.html",
    r"run\.ai/(simulated-)?gpu": "https://github.com/run-ai/fake-gpu-operator",
    r"k8s\.amazonaws\.com/vgpu": "https://github.com/awslabs/aws-virtual-gpu-device-plugin",
    # NVIDIA cards and vGPUs passed through to virtual machines, named for the model: nvidia.com/GA102GL_A10.
    r"nvidia\.com/([pv]gpu|[A-Z][A-Z0-9])": "https://github.com/NVIDIA/kubevirt-gpu-device-plugin",
    r"alpha\.kubernetes\.io/nvidia-gpu": "https://v1-10.docs.kubernetes.io/docs/tasks/manage-gpus/scheduling-gpus/",
    r"gpu\.intel\.com/(millicores|memory\.max|tiles)":
        "https://github.com/intel/platform-aware-scheduling/tree/master/gpu-aware-scheduling",
    # Accelerators of other vendors.
    r"huawei\.com/([Aa]scend|npu)": "https://github.com/Project-HAMi/ascend-device-plugin",
    r"cambricon\.com/v?mlu": "https://github.com/Cambricon/cambricon-k8s-device-plugin",
    r"hygon\.com/dcu": "https://github.com/Project-HAMi/dcu-vgpu-device-plugin",
    r"metax-tech\.com/([sv]?gpu|vcore|vmemory)":
        "https://github.com/Project-HAMi/HAMi/blob/master/docs/metax-support.md",
    r"mthreads\.com/([sv]?gpu|sgpu-)": "https://github.com/Project-HAMi/HAMi/blob/master/docs/mthreads-support.md",
    r"iluvatar\.ai/(v?gpu|vcuda|[-\w]{1,32}\.v(Core|Mem))":
        "https://github.com/Project-HAMi/HAMi/blob/master/docs/iluvatar-gpu-support.md",
    r"enflame\.com/(gcu|dtu|vgcu|drs-gcu|shared-gcu)":
        "https://github.com/Project-HAMi/HAMi/blob/master/docs/enflame-vgcu-support.md",
    r"kunlunxin\.com/v?xpu": "https://github.com/Project-HAMi/HAMi/blob/master/docs/kunlun-vxpu-support.md",
    r"vastaitech\.com/va": "https://github.com/Project-HAMi/HAMi",
    r"birentech\.com/gpu": "https://github.com/BirenTechnology",
    r"aws\.amazon\.com/neuron": "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/containers/kubernetes-getting-started.html",
    r"qualcomm\.com/qaic": "https://github.com/quic/cloud-ai-sdk",
    r"furiosa\.ai/": "https://github.com/furiosa-ai/furiosa-device-plugin",
    r"rebellions\.ai/": "https://docs.rbln.ai/",
}  # fmt: skip
"""Start of a resource name → source. Others that hand out accelerators; their cards may be those of the claim."""

# The rest of a name is restricted to the characters of resource names, as messages repeat it.
_REST = r"[-.\w]{0,63}"
_DEVICE_PLUGIN = re.compile(rf"({'|'.join(DEVICE_PLUGINS)}){_REST}", re.ASCII)
_OTHER_ALLOCATOR = re.compile(rf"({'|'.join(OTHER_ALLOCATORS)}){_REST}", re.ASCII)


def duplicates_claim(resource: str, device_classes: Collection[str], further: Collection[str]) -> bool:
    """Whether the resource hands out devices of the kind that a claim requests: through a device plugin, as the
    implicit extended resource of one of `device_classes`, or as one of the `further` names that an operator lists."""
    if resource.startswith(DEVICE_CLASS_PREFIX):
        return resource.removeprefix(DEVICE_CLASS_PREFIX) in device_classes
    return resource in further or (_DEVICE_PLUGIN.fullmatch(resource) is not None and not _is_monitoring(resource))


def is_other_accelerator(resource: str) -> bool:
    """Whether the resource hands out accelerators in another way."""
    return _OTHER_ALLOCATOR.fullmatch(resource) is not None and not _is_monitoring(resource)


def describe(resource: str) -> str:
    """What a request for the resource is, for a message."""
    return "a device-plugin request" if _DEVICE_PLUGIN.fullmatch(resource) else "another request for an accelerator"


def _is_monitoring(resource: str) -> bool:
    return resource.endswith("monitoring")
