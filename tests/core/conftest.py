from hypothesis import HealthCheck, settings

# Time is not what these properties are about, and the machines that run them are shared.
settings.register_profile("core", deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("core")
