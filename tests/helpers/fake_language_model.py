"""A language model for tests; its answers are a function of the prompt's text."""

import math

from lextables.models.language_model import Weighed, Written


def text_of(prompt):
    """Return the text of a prompt's messages, separated by blank lines."""
    return "\n\n".join(message.content for message in prompt)


class FakeModel:
    """Model that answers with two functions and records the prompts.

    ``weighs(text)`` returns {continuation: probability}; other continuations have
    probability 0.  If it is None, the model has no probabilities.  ``writes(text,
    seed)`` returns a text.  Each word is one token.
    """

    name = "fake"

    def __init__(self, weighs=None, writes=None, window=None):
        self.weighs = weighs
        self.writes = writes
        self.window = window
        self.weighed = []
        self.written = []
        self.expected = []

    def tokens(self, prompt):
        return len(text_of(prompt).split())

    def expect(self, requests, characters):
        self.expected.append((requests, characters))

    def weigh(self, choices):
        self.weighed += [choice.prompt for choice in choices]
        return [self._weighed(choice) for choice in choices]

    def _weighed(self, choice):
        if self.weighs is None:
            return Weighed(None)
        probabilities = self.weighs(text_of(choice.prompt))
        logarithms = []
        for continuation in choice.continuations:
            share = probabilities.get(continuation, 0)
            logarithms.append(math.log(share) if share else -math.inf)
        return Weighed(tuple(logarithms))

    def write(self, requests):
        answers = []
        for request in requests:
            self.written.append(request.prompt)
            text = self.writes(text_of(request.prompt), request.seed)
            answers.append(Written(text))
        return answers
