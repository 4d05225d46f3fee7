"""What the stages stand on: installing, processes, the connector, an agent, the tally."""
