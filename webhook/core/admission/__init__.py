"""Admission: from an AdmissionReview to a Decision, and from there to the response.

Belongs here: reviews, pods and pod templates as views on JSON, exemptions, rules, target containers, the patch.
Never here: what a model needs (see `fits`), what a claim looks like (see `claims`), anything but the review's content.
"""
