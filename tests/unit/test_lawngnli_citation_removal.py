import pytest

from lextables.papers.lawngnli.citation_removal import remove_citations, removed_spans

# (text, what is left); sentences of our own around real or made-up citations.
CASES = {
    "citation sentence": (
        "The lessor must mitigate. Roe v. Wade, 410 U.S. 113, 153 (1973). That duty is old.",
        "The lessor must mitigate. That duty is old.",
    ),
    "signal and string cite": (
        "The rule is old. See also Roe v. Wade, 410 U.S. 113 (1973); Doe v. Bolton, 410 U.S. 179, 184 "
        "(1973). It stands.",
        "The rule is old. It stands.",
    ),
    "signal with spaces in e. g.": (
        "The rule is old. See, e. g., Green v. Mansour, 474 U.S. 64, 68 (1985). It stands.",
        "The rule is old. It stands.",
    ),
    "quoting and subsequent history": (
        "It is settled. Cole v. Dole, 845 F.2d 374, 386 (CA2 1988) (quoting the rule), cert. denied, 488 "
        "U.S. 1020 (1989). We agree.",
        "It is settled. We agree.",
    ),
    "parallel citations": (
        "Notice was late. Poe v. Hill, 39 Cal. 3d 35, 48, n. 4, 702 P.2d 543, 549-550, n. 4 (1985). "
        "It fails.",
        "Notice was late. It fails.",
    ),
    "nested parentheses": (
        "Intent matters. Poe v. Hill, 426 U.S. 229, 240 (1976) (the rule (as read in Doe) holds) (en banc). "
        "So here.",
        "Intent matters. So here.",
    ),
    "short form, supra and id.": (
        "It binds. Burger King, 471 U.S. at 475; Keeton, supra, at 774. It ends. Id. at 476, n. 18. "
        "Ibid. So be it.",
        "It binds. It ends. So be it.",
    ),
    "after a quotation": (
        'He called it "a fair trial." Poe v. Hill, 426 U.S. 229 (1976). We agree.',
        'He called it "a fair trial." We agree.',
    ),
    "clause": (
        "A duty arises, Poe v. Hill, 426 U.S. 229, 240 (1976), and binds both.",
        "A duty arises, and binds both.",
    ),
    "clause at the end": (
        "A duty arises, see Poe v. Hill, 426 U.S. 229 (1976).",
        "A duty arises.",
    ),
    "clause after a quoted comma": (
        'The "close link," King v. Ames, 471 U.S. 462, 475 (1985), between the two must be shown.',
        'The "close link," between the two must be shown.',
    ),
    "clause after a quoted comma, at the end": (
        'It needs a "close link," 28 U.S.C. § 1254(2).',
        'It needs a "close link".',
    ),
    "in parentheses": (
        "The fee was lawful (see Poe v. Hill, 426 U.S. 229 (1976)) and stays.",
        "The fee was lawful and stays.",
    ),
    "part of the sentence": (
        "In Poe v. Hill, 426 U.S. 229, 240 (1976), the Court held so.",
        "In Poe v. Hill, the Court held so.",
    ),
    "part of the sentence, two cases": (
        "Under Poe v. Hill, 426 U.S. 229 (1976), and Doe v. Bolton, 410 U.S. 179 (1973), it falls.",
        "Under Poe v. Hill, and Doe v. Bolton, it falls.",
    ),
    "subject of its sentence": (
        "The point is old. Poe v. Hill, 426 U.S. 229 (1976), settled it.",
        "The point is old. Poe v. Hill, settled it.",
    ),
    "supra inside a sentence": (
        "As Graham v. Connor, supra, makes plain, force must be reasonable.",
        "As Graham v. Connor, makes plain, force must be reasonable.",
    ),
    "a name with a comma": (
        "In Garvey Grain Co. v. Director, Office of Workers Programs, 639 F.2d 366 (CA7 1981), it "
        "was held so.",
        "In Garvey Grain Co. v. Director, Office of Workers Programs, it was held so.",
    ),
    "a name with a company's comma": (
        "It was upheld. Hutson v. Fehr Bros., Inc., 584 F.2d 833 (CA8 1978). We follow.",
        "It was upheld. We follow.",
    ),
    "abbreviations in both names": (
        "It was stayed. See Portland Audubon Soc. v. Cia. Petrolera Caribe, Inc., 754 F.2d 404, 428 "
        "(1985). Then not.",
        "It was stayed. Then not.",
    ),
    "In re": (
        "The suit was barred. In re Ayers, 123 U.S. 443, 502 (1887). It still is.",
        "The suit was barred. It still is.",
    ),
    "a statute in its sentence stays": (
        "She sued under 42 U.S.C. § 1983 for damages.",
        "She sued under 42 U.S.C. § 1983 for damages.",
    ),
    "a statute as a clause goes": (
        "The Act, 29 U.S.C. § 1054(b)(1), sets a floor.",
        "The Act, sets a floor.",
    ),
    "an article after a signal": (
        "The test is debated. See Born, Reflections on Jurisdiction, 17 Ga. J. Int'l & Comp. L. 1 "
        "(1987). So be it.",
        "The test is debated. So be it.",
    ),
    "a bare citation after certiorari": (
        "We granted certiorari, 475 U.S. 1044 (1986), and now reverse.",
        "We granted certiorari, and now reverse.",
    ),
    "a cross-reference": (
        "The dissent, post at 746, disagrees. We do not. Ante, at 12-13, n. 4.",
        "The dissent, disagrees. We do not.",
    ),
    "a page label of the report": (
        "It stood in the Page 480 U. S. 109 forum State.",
        "It stood in the forum State.",
    ),
    "part of the sentence, with a parallel citation and history": (
        "In Poe v. Hill, 39 Cal. 3d 35, 702 P.2d 543 (1985), aff'd, 498 U.S. 916 (1990), the court held so.",
        "In Poe v. Hill, the court held so.",
    ),
    "part of its sentence, then a citation sentence": (
        "Notice came first under Teague v. Lane, 489 U.S. 288 (1989). 72 F.3d 1500, 1503 (1996). We agree.",
        "Notice came first under Teague v. Lane. We agree.",
    ),
    "after a footnote's mark": (
        "It was so held.12 See Poe v. Hill, 426 U.S. 229 (1976). We agree. [Footnote 3] Id. at 230. "
        "And so on.",
        "It was so held.12 We agree. And so on.",
    ),
    "a footnote that is a citation": ("14 See Poe v. Hill, 426 U.S. 229 (1976).", "14"),
    "after quotations inside each other": (
        "He said \"'no more.' \" Ibid. (quoting King, 471 U. S., at 475). We agree.",
        "He said \"'no more.' \" We agree.",
    ),
    "odd pincites": (
        "It was so. Id., at 4a. It was. Id. at 62a-63a. It is. 73 F. 3d, at 1545. Ever. Id., § 31. Yes.",
        "It was so. It was. It is. Ever. Yes.",
    ),
    "subject after an adverb": (
        "Thereafter, Roe v. Wade, 410 U.S. at 153, held that it binds. And so it does.",
        "Thereafter, Roe v. Wade, held that it binds. And so it does.",
    ),
    "two subjects after an adverb": (
        "For example, Poe v. Hill, 426 U.S. 229 (1976), and Doe v. Bolton, 410 U.S. 179 (1973), later "
        "suggest it.",
        "For example, Poe v. Hill, and Doe v. Bolton, later suggest it.",
    ),
    "a clause with a signal before a verb": (
        "The right of allocution, see Poe v. Hill, 426 U.S. 229 (1976), is another matter.",
        "The right of allocution, is another matter.",
    ),
    "the source of a quotation before a verb": (
        'The "link," Poe v. Hill, 426 U.S. 229 (1976), must be shown.',
        'The "link," must be shown.',
    ),
    "a string of sources before a verb": (
        "Persons abroad, Poe v. Hill, 426 U.S. 229 (1976); Doe v. Bolton, 410 U.S. 179 (1973), may be tried.",
        "Persons abroad, may be tried.",
    ),
    "what followed the case, not a verb of which it is the subject": (
        "It adopted the rule, Poe v. Hill, 426 U.S. 229 (1976), overruled on other grounds.",
        "It adopted the rule, overruled on other grounds.",
    ),
    "on the relation of": (
        "It was denied. See United States ex rel. Poe v. Hill, 426 U.S. 229 (1976); State ex rel. Roe v. "
        "Doe, 12 Ohio St. 2d 3 (1967). We agree.",
        "It was denied. We agree.",
    ),
    "on the relation of the defendant": (
        "The press is free. Near v. Minnesota ex rel. Olson, 283 U.S. 697 (1931). So be it.",
        "The press is free. So be it.",
    ),
    "on the relation of, in its sentence": (
        "In United States ex rel. Poe v. Hill, 426 U.S. 229 (1976), the Court held so.",
        "In United States ex rel. Poe v. Hill, the Court held so.",
    ),
    "on the relation of, after a comma or without its full stop": (
        "It was denied. See Georgia, ex rel. Poe v. Hill, 426 U.S. 229 (1976); Ohio ex rel Roe v. Doe, 12 "
        "Ohio St. 2d 3 (1967). We agree.",
        "It was denied. We agree.",
    ),
    "subject with a relative clause, after an opening phrase": (
        "It stood. In contrast, Poe v. Hill, 426 U.S. 229 (1976), which came first, is old law.",
        "It stood. In contrast, Poe v. Hill, which came first, is old law.",
    ),
    "subject with another, after an opening phrase": (
        "For example, Poe v. Hill, 426 U.S. 229 (1976), and its progeny bar such suits.",
        "For example, Poe v. Hill, and its progeny bar such suits.",
    ),
    "subjects that a semicolon joins, after an opening phrase": (
        "Of course, Poe v. Hill, 426 U.S. 229 (1976); Doe v. Bolton, 410 U.S. 179 (1973), involved others.",
        "Of course, Poe v. Hill; Doe v. Bolton, involved others.",
    ),
    "a statute as a subject, after an opening phrase": (
        "Further, 28 U.S.C. § 1331, grants jurisdiction.",
        "Further, 28 U.S.C. § 1331, grants jurisdiction.",
    ),
    "a clause with a relative clause": (
        "A duty arises, Poe v. Hill, 426 U.S. 229 (1976), which binds both, and its breach.",
        "A duty arises, which binds both, and its breach.",
    ),
    "footnote marks": (
        "[Footnote 2/3] The rule is old, [Footnote 4] and it binds. [Footnote *]",
        "The rule is old, and it binds.",
    ),
    "a name that ends in an abbreviation": (
        "We follow Poe v. Acme Co., 426 U.S. 229 (1976). So be it . . . .",
        "We follow Poe v. Acme Co. So be it . . . .",
    ),
    "cross-references in other forms": (
        "It binds. See supra, pp. 12-13. It ends. See supra, n 12. So it is. See infra, nn. 12 13. Poe, "
        "supra at p. 12. Yes. See infra this page and nn. 31 32. Ever. See infra.",
        "It binds. It ends. So it is. Yes. Ever.",
    ),
    "a case with a cross-reference": (
        "It binds. See Poe v. Hill, ante at 426. It ends. See Poe, supra, n 12, at 14. So be it.",
        "It binds. It ends. So be it.",
    ),
    "a section of another work": (
        "In Classic, supra, § 20 of the Criminal Code was applied. Poe, supra, § 20. So be it.",
        "In Classic, § 20 of the Criminal Code was applied. So be it.",
    ),
    "a railroad's initials": (
        "The rate binds. See Koch v. Poe, 426 U.S. 229; Atchison, T. & S.F. R. Co. v. Hill, 12 U.S. 3. So be "
        "it.",
        "The rate binds. So be it.",
    ),
    "a string in which not every citation is known": (
        "The rule is old. See Poe v. Hill; Doe v. Bolton, 410 U.S. 179 (1973). See Act of June 24, 1948, "
        "62 Stat. 602, 603. The Court of Appeals affirmed, 12 F.2d 3 (1927).",
        "The rule is old. The Court of Appeals affirmed.",
    ),
    "a statute whose page could be a year": (
        "The treaty of 1916 (39 Stat. 1702), and another, bind us.",
        "The treaty of 1916, and another, bind us.",
    ),
    "reports of Congress": (
        "It was so. See H.R.Conf.Rep. No. 1030, supra, at 57; S.Rep. No. 744, supra, at 28. It is.",
        "It was so. It is.",
    ),
    "a forename in parentheses": (
        "Under Poe (Harry) v. Hill, 426 U.S. 229, it falls. See Poe (Ann) v. Hill, 428 U.S. 325. So be it.",
        "Under Poe (Harry) v. Hill, it falls. So be it.",
    ),
    "sections with full stops and letters": (
        "Some boards decide. 32 CFR §§ 1471.2(b), 1473.2(a), 1474.25, and 1475.3(a). Others advise.",
        "Some boards decide. Others advise.",
    ),
    "a bank's abbreviation": (
        "It may not tax. See Poe v. Hill, 426 U.S. 229; First Nat. Bank v. Roe, 392 U.S. 339. So be it.",
        "It may not tax. So be it.",
    ),
    "after the mark of a footnote to a separate opinion": (
        "It was prayer. [Footnote 2/7] Ibid. The court agreed. [Footnote 2/8] See supra, at 86. So be it.",
        "It was prayer. The court agreed. So be it.",
    ),
    "a name that begins a parenthesis or a quotation": (
        'It binds (Poe v. Hill, 426 U.S. 229 (1976)), he said. "Doe v. Bolton, 410 U.S. 179, is the rule."',
        'It binds, he said. "Doe v. Bolton, is the rule."',
    ),
    "nothing to remove": ("The tenant | held over, and paid; rent (in 1973) was due.",) * 2,
    "empty": ("", ""),
}


@pytest.mark.parametrize("name", CASES)
def test_remove_citations(name):
    text, expected = CASES[name]
    assert remove_citations(text) == expected


def test_paragraphs_that_were_citations_alone_go_with_their_lines():
    text = "It is so.\nId. at 113.\n\nIn Poe v. Hill, 426 U.S. 229 (1976), it was said:"
    assert remove_citations(text) == "It is so.\n\nIn Poe v. Hill, it was said:"


@pytest.mark.parametrize("name", CASES)
def test_spans_are_ordered_apart_and_inside(name):
    text, expected = CASES[name]
    spans = removed_spans(text)
    flat = [at for span in spans for at in span]
    assert flat == sorted(set(flat))
    assert all(0 <= at <= len(text) for at in flat)
    kept, at = "", 0
    for start, end in [*spans, (len(text), len(text))]:
        kept, at = kept + text[at:start], end
    assert kept == expected


@pytest.mark.parametrize(
    "text",
    [
        "See Roe v. Wade, 410 U.S. 113 (1973",
        "(((((((((( Id. at 5 ))))",
        "v. v. v. , 410 U.S. 113",
        "Id.",
        ", 410 U.S. 113,",
        "\x00\x07 410 U.S. 113 \ufeff",
        "See " * 200 + "410 U.S. 113.",
        "410 U.S. 113 (" + "a (b) " * 300,
    ],
)
def test_odd_text_is_survived(text):
    shorter = remove_citations(text)
    letters = iter(text)
    assert all(character in letters for character in shorter)  # only ever taken out, in order
