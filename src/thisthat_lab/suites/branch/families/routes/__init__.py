"""Which of several ways, owners, queues or tools a case takes."""
