"""What the tests share: stores, servers, processes, clocks, apps and browsers."""
