"""Profiles of the property tests: quick by default, HYPOTHESIS_PROFILE=thorough for 1,000 examples of each law."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")  # no test needs a display, but for those that bring their own

settings.register_profile("quick", deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", settings.get_profile("quick"), max_examples=1000)
settings.register_profile("soak", settings.get_profile("thorough"))
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
