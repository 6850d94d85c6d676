"""Profiles of the property tests: quick by default, `--hypothesis-profile=soak` for a long look."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")  # no test needs a display, but for those that bring their own

settings.register_profile("quick", deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("soak", deadline=None, max_examples=300, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("quick")
