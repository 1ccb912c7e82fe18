"""What an operator sees from outside: logs and metrics. Nothing of a pod's content passes through here."""
