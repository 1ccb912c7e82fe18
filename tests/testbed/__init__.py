"""Tests of those parts of the test bed whose failure other tests would not show. They need no control plane."""
