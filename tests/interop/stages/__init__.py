"""The stages of the run, in order: agents, stdio, conformance, examples."""
