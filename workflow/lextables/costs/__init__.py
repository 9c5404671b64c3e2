"""What a run will take before it starts: hours, disk, downloads and dollars, from what earlier ones took."""
