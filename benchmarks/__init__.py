"""Measurements, side by side and as ratios: absolute figures say more about the machine than about the code."""
