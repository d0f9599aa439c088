"""Tests of release.py: `python3 -m unittest discover --start-directory Scripts`."""

import datetime
import unittest

import release

CHANGELOG = """# Changelog

## [Unreleased]

### Changed

- `Ask.changed` is faster.

### Breaking

- `Ask.send(_:)` takes a prompt. It was
  `Ask.say`.
- `Gone` has gone.

### Fixed

- `Ask.fixed` works.

## [0.2.0] - 2027-01-09

### Breaking

- `Ask.current` is gone.

## [0.1.0] - 2026-11-26

### Breaking

- `Ask.old` is gone.
"""


def symbol(kind, name, text, located=True):
    path = name.split(".")
    return {
        "kind": {"identifier": f"swift.{kind}"},
        "identifier": {"precise": name},
        "pathComponents": path,
        "declarationFragments": [{"spelling": word} for word in (text[:3], text[3:])],
        **({"location": {}} if located else {}),
    }


class VersionTests(unittest.TestCase):
    def problems(self, version="0.2.0", changelog=CHANGELOG, date="January 9, 2027", **documents):
        return list(release.version_problems(version, changelog, date, documents))

    def test_places_that_agree_have_no_problem(self):
        self.assertEqual(self.problems(README='.package(url: "…", from: "0.2.0")'), [])

    def test_other_version_in_the_changelog_is_a_problem(self):
        self.assertEqual(
            self.problems(version="0.3.0"),
            ["the newest section of CHANGELOG.md is of 0.2.0, and the version is 0.3.0"])

    def test_other_day_of_the_manual_page_is_a_problem(self):
        self.assertEqual(
            self.problems(date="January 8, 2027"),
            ["the manual page is of January 8, 2027, and CHANGELOG.md says 2027-01-09"])

    def test_other_version_in_a_document_is_a_problem(self):
        self.assertEqual(
            self.problems(README='from: "0.2.0"', Deploying='from: "0.1.0"'),
            ["Deploying says 0.1.0, and the version is 0.2.0"])
        self.assertEqual(
            self.problems(README="This is version 0.1.0:", Deploying="apt install ./chappie_0.1.0-1_amd64.deb"),
            ["README says 0.1.0, and the version is 0.2.0", "Deploying says 0.1.0, and the version is 0.2.0"])

    def test_section_without_a_day_is_a_problem(self):
        self.assertEqual(
            self.problems(changelog="## [Unreleased]\n\n## [0.2.0]\n"),
            ["CHANGELOG.md has no section '[VERSION] - YYYY-MM-DD' behind [Unreleased]"])

    def test_changelog_without_unreleased_section_is_a_problem(self):
        self.assertIn(
            "CHANGELOG.md does not begin with a section [Unreleased]",
            self.problems(changelog="## [0.2.0] - 2027-01-09\n"))


class ReleaseTests(unittest.TestCase):
    released = "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2027-01-09\n\n### Added\n\n- This.\n"

    def problems(self, wanted="0.2.0", version="0.2.0", tags=(), changelog=CHANGELOG):
        return list(release.release_problems(wanted, version, tags, changelog))

    def test_version_with_a_tag_can_be_had_whatever_has_changed_since(self):
        self.assertEqual(self.problems(tags=["0.2.0"]), [])
        self.assertEqual(self.problems(wanted="0.1.0", tags=["0.1.0"]), [])

    def test_version_without_a_tag_is_this_commit_when_nothing_is_behind_it(self):
        self.assertEqual(self.problems(changelog=self.released), [])

    def test_version_without_a_tag_and_with_changes_behind_it_cannot_be_had(self):
        self.assertEqual(
            [problem[:81] for problem in self.problems(tags=["0.1.0"])],
            ["README asks for 0.2.0, which has no tag, and CHANGELOG.md has 13 lines behind it:"])

    def test_other_version_without_a_tag_cannot_be_had(self):
        self.assertEqual(
            self.problems(wanted="0.1.0", changelog=self.released),
            ["README asks for 0.1.0, which has no tag, and the version is 0.2.0"])

    def test_date_moves_changes_into_the_section_of_the_version(self):
        day = datetime.date(2027, 2, 1)
        text = release.dated(CHANGELOG, "0.2.0", day)
        self.assertEqual(
            [heading for heading, _ in release.sections(text)],
            ["[Unreleased]", "[0.2.0] - 2027-02-01", "[0.1.0] - 2026-11-26"])
        self.assertEqual(self.problems(changelog=text), [])
        section = dict(release.sections(text))["[0.2.0] - 2027-02-01"]
        self.assertEqual([title for title, _ in release.entries(section)][1:], ["### Changed", "### Breaking", "### Fixed"])
        self.assertIn("- `Gone` has gone.\n- `Ask.current` is gone.\n", section)
        # A second time it changes nothing.
        self.assertEqual(release.dated(text, "0.2.0", day), text)

    def test_date_joins_headings_that_are_there_twice(self):
        changelog = CHANGELOG.replace("### Fixed", "### Breaking\n\n- `New` is other.\n\n### Fixed", 1)
        text = release.dated(changelog, "0.2.0", datetime.date(2027, 2, 1))
        self.assertIn("- `Gone` has gone.\n- `New` is other.\n- `Ask.current` is gone.\n", text)

    def test_date_makes_a_section_for_a_new_version(self):
        text = release.dated(CHANGELOG, "0.3.0", datetime.date(2027, 2, 1))
        self.assertEqual(
            [heading for heading, _ in release.sections(text)],
            ["[Unreleased]", "[0.3.0] - 2027-02-01", "[0.2.0] - 2027-01-09", "[0.1.0] - 2026-11-26"])
        self.assertEqual(text.count("- `Ask.fixed` works."), 1)


class DeclarationTests(unittest.TestCase):
    def test_lines_hold_declarations_requirements_and_conformances(self):
        graph = {
            "symbols": [
                symbol("protocol", "Store", "protocol Store"),
                symbol("method", "Store.read()", "func  read()\n  throws -> Int"),
                symbol("enum", "Kind", "enum Kind"),
                symbol("init", "Kind.init(rawValue:)", "init?(rawValue: String)", located=False),
                symbol("method", "Kind.==(_:_:)", "static func == (…)", located=False),
                symbol("extension", "Other", "extension Other"),
            ],
            "relationships": [
                {"kind": "requirementOf", "source": "Store.read()", "target": "Store"},
                {"kind": "conformsTo", "source": "Kind", "target": "Store"},
                {"kind": "conformsTo", "source": "Kind", "target": "s:SH", "targetFallback": "Swift.Hashable"},
                {"kind": "conformsTo", "source": "Kind", "target": "s:c", "targetFallback": "Swift.Copyable"},
            ],
        }
        self.assertEqual(
            release.graph_lines("M", [graph]),
            {
                "M | Store | protocol Store", "M | Store.read() | requirement func read() throws -> Int",
                "M | Kind | enum Kind", "M | Kind.init(rawValue:) | init?(rawValue: String)",
                "M | Kind | conforms to Store", "M | Kind | conforms to Hashable",
            })


class BreakTests(unittest.TestCase):
    baseline = {
        "M | Kind | enum Kind", "M | Kind.a | case a", "M | Store | protocol Store", "M | Ask.say() | func say()",
        "M | Ask | struct Ask",
    }

    def breaks(self, *, adding=(), removing=()):
        return release.breaks(self.baseline, (self.baseline | set(adding)) - set(removing))

    def test_additions_break_nothing(self):
        self.assertEqual(self.breaks(adding=["M | Ask.more() | func more()", "M | Other | enum Other",
                                             "M | Other.a | case a", "M | New.f() | requirement func f()"]), [])

    def test_line_that_is_gone_is_a_break(self):
        self.assertEqual(self.breaks(removing=["M | Ask.say() | func say()"]), ["- M | Ask.say() | func say()"])

    def test_changed_line_is_a_break(self):
        self.assertEqual(
            self.breaks(removing=["M | Ask.say() | func say()"], adding=["M | Ask.say() | func say() throws"]),
            ["- M | Ask.say() | func say()"])

    def test_case_of_a_known_enumeration_is_a_break(self):
        for text in ("case b(Int)", "indirect case b(Int)"):
            self.assertEqual(self.breaks(adding=[f"M | Kind.b(_:) | {text}"]), [f"+ M | Kind.b(_:) | {text}"])

    def test_requirement_of_a_known_protocol_is_a_break(self):
        self.assertEqual(
            self.breaks(adding=["M | Store.f() | requirement func f()"]), ["+ M | Store.f() | requirement func f()"])


class AnnouncementTests(unittest.TestCase):
    def unannounced(self, *changes, present=()):
        announced = release.announced_names(CHANGELOG, "0.2.0")
        return list(release.unannounced(changes, set(present), announced))

    def test_names_under_breaking_are_announced_until_the_version_before(self):
        self.assertEqual(release.announced_names(CHANGELOG, "0.2.0"), {"Ask.send", "Ask.say", "Gone", "Ask.current"})

    def test_named_member_is_announced_whatever_its_labels(self):
        self.assertEqual(self.unannounced("- M | Ask.send(_:) | func send(_ prompt: String)"), [])

    def test_other_headings_announce_nothing(self):
        for name in ("Ask.changed", "Ask.fixed", "Ask.old"):
            change = f"- M | {name} | var x: Int"
            self.assertEqual(self.unannounced(change), [change])

    def test_type_that_is_gone_covers_its_members(self):
        change = "- M | Gone.member | let member: Int"
        self.assertEqual(self.unannounced(change), [])
        self.assertEqual(self.unannounced(change, present=["M | Gone | struct Gone"]), [change])

    def test_patch_release_is_told_from_a_minor_one(self):
        self.assertTrue(release.is_patch_release("0.1.0", "0.1.1"))
        self.assertFalse(release.is_patch_release("0.1.0", "0.2.0"))
        self.assertFalse(release.is_patch_release("0.1.0", "0.1.0"))


if __name__ == "__main__":
    unittest.main()
