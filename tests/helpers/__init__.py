"""Data, servers and checks that several tests use."""
