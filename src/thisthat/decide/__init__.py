"""The one path of a request: a state and questions in, answers with probabilities out."""
