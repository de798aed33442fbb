"""The simulator: the real planner over a virtual clock and a store made of dictionaries."""
