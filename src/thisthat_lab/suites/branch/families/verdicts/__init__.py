"""Yes or no by a stated rule: may it, must it, was it?"""
