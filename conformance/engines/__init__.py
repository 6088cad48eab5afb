"""What is tested: endpoints over HTTP, through windows, and the baseline in process."""
