"""`python -m webhook.cli` is `modelfit`."""

import sys

from webhook.cli import main

sys.exit(main())
