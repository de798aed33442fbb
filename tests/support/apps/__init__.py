"""Apps that tests serve in processes of their own."""
