"""What runs in the other environment: plain programs that import the peers and nothing of ours."""
