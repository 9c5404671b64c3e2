"""Words that the contradiction rules know, in lower case."""

NOT = frozenset({"not", "n't", "n’t", "never"})
FOCUS = frozenset({"only", "merely", "just", "simply", "solely"})
NEGATIVE_ADVERBS = frozenset(
    {"hardly", "scarcely", "barely", "rarely", "seldom", "little", "few", "nowhere"}
)
# "Often must" and "often must not" may both be true, and so may "perhaps" and "perhaps
# not".
PARTIAL = frozenset({"often", "frequently", "long", "occasionally"})
POSSIBLY = frozenset(
    "allegedly arguably maybe perhaps possibly presumably purportedly reportedly supposedly".split()
)
# Quantifiers Q for which "Q are" and "Q are not" may both be true.  Words of `SHARES`
# count only at the end of their phrase ("30 percent of voters"), and not in "a 30
# percent limit".
WEAK = frozenset({"few", "many", "several", "certain", "various", "numerous", "half"})
SHARES = frozenset({"percent", "%"})
# Words that open a clause or phrase of reason or exception.  The words of
# `OPENING_REASONS` have other uses too, so they count only where the parser found such
# a clause or phrase.
OPENING_REASONS = frozenset({"since", "given", "absent", "save"})
REASONS = frozenset({"because", "inasmuch", "unless", "except", "lest"})
REASON_PHRASES = (
    ("in", "light", "of"),
    ("in", "view", "of"),
    ("on", "the", "ground"),
    ("on", "the", "grounds"),
    ("on", "ground"),
    ("on", "grounds"),
    ("by", "virtue", "of"),
    ("by", "reason", "of"),
    ("due", "to"),
    ("owing", "to"),
    ("but", "for"),
)
# Clauses and phrases of concession open with these words, and with "even", "however",
# "while" and "no matter" in some places (`contradiction`).
CONCESSIONS = (
    ("although",),
    ("though",),
    ("albeit",),
    ("despite",),
    ("notwithstanding",),
    ("regardless",),
    ("irrespective",),
    ("whereas",),
    ("in", "spite", "of"),
)
LIMITS = frozenset({"best", "least", "most", "worst"})  # after "at"

# {indefinite pronoun: the pronoun that contradicts it}; pronouns with "any-" have the
# same opposites as pronouns with "some-".
PRONOUNS = {
    "someone": "no one",
    "anyone": "no one",
    "somebody": "nobody",
    "anybody": "nobody",
    "something": "nothing",
    "anything": "nothing",
    "nobody": "somebody",
    "nothing": "something",
    "none": "some",
}
NEGATIVE_PRONOUNS = frozenset({"nobody", "nothing", "none"})
NEGATIVES = NEGATIVE_PRONOUNS | {"no", "neither", "nor", "nowhere"}
QUOTES = frozenset({'"', "'", "''", "``", "`", "“", "”", "‘", "’", "[", "]"})
# Words that occur only under a negation, and their replacements without it; None:
# dropped.
UNDER_NEGATION = {
    "any": "some",
    "anyone": "someone",
    "anybody": "somebody",
    "anything": "something",
    "anywhere": "somewhere",
    "until": "before",
    "yet": "already",
    "ever": None,
}
# Phrases that occur only under a negation and have no counterpart without it.
NEGATIVE_PHRASES = (
    ("whatever",),
    ("whatsoever",),
    ("at", "all"),
    ("in", "the", "least"),
    ("in", "the", "slightest"),
    ("either",),
    ("let", "alone"),
    ("much", "less"),
    ("so", "much", "as"),
)
# Adverbs that add to what was said; a negation before them denies the addition only.
ADDITIVE = frozenset({"also", "further"})
# Words that are replaced when a negation is added.  "Before" stays: under a negation it
# means the same as "until".
ASSERTED = {
    "some": "any",
    "someone": "anyone",
    "somebody": "anybody",
    "something": "anything",
    "somewhere": "anywhere",
    "already": "yet",
}
# After these words "any" means whichever, with a negation or without.
WHICHEVER = frozenset({"without", "than", "if", "before", "as"})

VERBAL = ("VB", "MD")  # how the tags of verbs begin
COMPLEMENTS = frozenset({"NP", "ADJP", "UCP"})  # labels of phrases after "be"
# Labels of what may be between a verb and its object.
BESIDE = ("ADVP", "RB", ",", "PRN", "PRT", "RP")
BE = frozenset(
    {"be", "am", "is", "are", "was", "were", "been", "being", "'s", "'re", "'m"}
)
HAVE = frozenset({"have", "has", "had", "having"})
DO = frozenset({"do", "does", "did"})
MODALS = frozenset(
    {
        "can",
        "could",
        "may",
        "might",
        "must",
        "shall",
        "should",
        "will",
        "would",
        "cannot",
        "ought",
    }
)
AUXILIARIES = MODALS | BE | HAVE | DO
REDUCED = {"ca": "can", "wo": "will", "sha": "shall"}  # in "can't", "won't", "shan't"
FINITE = MODALS | {"am", "is", "are", "was", "were"}
# Verbs with which "may" means possibility, not permission; "may not" does not deny a
# possibility.
STATES = frozenset(
    "affect appear arise be become cause constitute contain create depend deter encourage exist facilitate "
    "give have impair imply include increase indicate involve justify lead mean occur pose present prevent "
    "raise reduce reflect remain require result seem suggest support turn undermine violate warrant".split()
)
NOMINATIVE = frozenset("he i it she they we".split())  # pronouns as subjects
# A capital on these nouns does not make them the name of a person or body that acts.
LAWS = frozenset(
    "act amendment article bill clause code constitution convention doctrine exemption form order "
    "proviso rule section statute table title treaty".split()
)
# Nouns in the singular that may have a verb in the plural.
COLLECTIVES = frozenset(
    "counsel data half majority media minority number people personnel police rest staff".split()
)
# Words of noun phrases that say when and are not objects: "dismissed last week".
TIMES = frozenset(
    "day earlier last later month next once term this time today twice week year yesterday".split()
)
# Words that after a number say how far or how long and are not objects: "delayed two
# weeks".
MEASURES = frozenset(
    "days feet foot hours inches miles months percent times weeks yards years".split()
)
# Adverbs of what follows from a statement.
CONSEQUENCES = frozenset("accordingly consequently hence therefore thus".split())
# Adverbs that link a sentence to the one before; a negation comes after them, before
# other adverbs.
LINKS = CONSEQUENCES | frozenset(
    "also further here however instead likewise moreover nevertheless nonetheless now otherwise "
    "similarly then there".split()
)
# Adverbs of a whole sentence; a negation comes after them.
SENTENCE_ADVERBS = frozenset(
    "apparently certainly clearly evidently likely obviously plainly probably surely undoubtedly "
    "unquestionably".split()
)
# Words that open a subordinate clause.  Each set is for one place: `SUBORDINATORS`
# before a subject or a later verb, `CONDITIONS` for a clause of reason or condition,
# `ADVERBIAL` for one that is no object of a verb.
SUBORDINATORS = frozenset(
    "although because if that though unless when where whether which while who".split()
)
CONDITIONS = frozenset(
    "although because if once though unless until when where while".split()
)
ADVERBIAL = frozenset(
    "after although as because before if lest once since so though till unless until when "
    "whenever where whereas wherever while".split()
)
# Words that open a clause of their own with a finite verb.
OPENERS = frozenset(
    "although because how if once that though unless what when whenever where whereas whether which "
    "while who whom whose why".split()
)
# Verbs by whose participle headlines say what a court or an agency did.
DISPOSITIONS = frozenset(
    "admit affirm allow approve award ban bar convict deem deny disapprove dismiss disqualify enforce "
    "enjoin entitle exclude exempt find forbid grant hold impose invalidate justify limit order "
    "overrule permit preclude presume prohibit protect reject remand require reverse set strike "
    "suppress suspend sustain toll uphold vacate violate void waive".split()
)
# Words after "no" in phrases that negate the verb: "in no way", "by no means".
MANNERS = frozenset(
    {"way", "time", "event", "case", "means", "circumstances", "sense", "respect"}
)
# Words in "-ing" that may start an adverbial before a clause.
PREPOSITIONS = frozenset(
    "according assuming barring concerning considering during following notwithstanding pending "
    "regarding".split()
)
# First words of parentheticals that report what a court did.  Parsers take these verbs
# for adjectives or nouns too.
REPORTS = frozenset(
    "affirming allowing applying approving arguing awarding citing collecting concluding construing "
    "declining denying describing discussing distinguishing enforcing excluding explaining finding granting "
    "holding interpreting invalidating listing noting observing overruling permitting providing quoting "
    "reasoning recognizing refusing rejecting remanding requiring reversing stating striking suggesting "
    "summarizing surveying sustaining upholding vacating".split()
)
# Adjectives that start a prepositional phrase: "date relative to filing deadline".
LIKE_PREPOSITIONS = frozenset(
    {"relative", "prior", "subsequent", "pursuant", "due", "such", "same"}
)


# Verbs whose object may be a clause with "that", with other words between.
STATING = frozenset(
    "acknowledge add admit agree allege argue assert assume believe claim conclude contend decide declare "
    "determine emphasize ensure establish explain feel find hold imply indicate insist know make mean note "
    "observe order point prove provide realize reason recognize require rule say see show state stress "
    "suggest think understand".split()
)
# Participles that state a decision; others only describe: "money paid for a grove".
VERDICTS = DISPOSITIONS - {
    "find",
    "impose",
    "limit",
    "set",
    "strike",
    "toll",
} | frozenset(
    "adjudge authorize bind construe consider declare disallow estop foreclose immunize moot need permit "
    "pre-empt preempt read reinstate revoke satisfy warrant".split()
)
# Adjectives that judge.  A phrase with another adjective may only describe: "provisions
# consistent with the Act".
JUDGING = frozenset(
    "adequate appropriate binding compelling constitutional controlling discretionary effective enough "
    "excessive exempt guilty immaterial immune improper inadequate inappropriate ineffective insufficient "
    "invalid irrelevant lawful mandatory moot necessary overbroad premature proper sufficient unclear "
    "unconstitutional unlawful unnecessary valid void".split()
)
# Adjectives that only describe their noun, even if they stand after it.
DESCRIBING = frozenset(
    "attributable comparable payable possible right subject traceable".split()
)
