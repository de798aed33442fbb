"""What runs on the other side: in the processes of an engine that work was handed over to."""
