"""How long decisions and training steps take, and what they cost."""
