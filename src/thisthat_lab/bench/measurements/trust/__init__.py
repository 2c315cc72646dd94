"""What an answer withstands and rests on: order, planted instructions, evidence, guarantees."""
