"""The files of dashboards: made by the generator, whole in themselves, of kinds and versions that the products take."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, get_args

import pytest

from indexer.clustering.relation_notes import UNVERIFIED
from indexer.engine.index.mapping import properties
from indexer.engine.index.side_index import CLUSTER_PROPERTIES, COPIED_PROPERTIES, FAILURE_PROPERTIES
from indexer.relations.relation import VerdictWord, verdict_of

FOLDER = Path(__file__).resolve().parents[2] / "mappings" / "dashboards"
PRODUCTS = ("kibana", "opensearch-dashboards")
SOURCE = "kibanaSavedObjectMeta.searchSourceJSON.index"

# What each kind may hold: the mappings of OpenSearch Dashboards 1.0 (src/plugins/*/server/saved_objects), which are
# strict, and the schemas of Kibana 8.12 and 9, which know the same, `controlGroupInput` and `fieldAttrs`.
ATTRIBUTES = {
    "index-pattern": {"title", "timeFieldName", "fieldFormatMap", "sourceFilters"},
    "visualization": {"title", "description", "visState", "uiStateJSON", "version", "kibanaSavedObjectMeta"},
    "search": {"title", "description", "columns", "sort", "kibanaSavedObjectMeta"},
    "dashboard": {
        *("title", "description", "hits", "version", "timeRestore", "timeFrom", "timeTo", "refreshInterval"),
        *("optionsJSON", "panelsJSON", "kibanaSavedObjectMeta"),
    },
}
KIBANA_ATTRIBUTES = {
    "dashboard": {"controlGroupInput"},
    "index-pattern": {"fieldAttrs"},
    "search": {"rowHeight", "grid"},
}
# The newest version that the oldest product knows: an object of a newer one is refused. OpenSearch Dashboards 1.0 is a
# fork of 7.10; Kibana 8.0 knows dashboards of 7.17.3 (src/plugins/*/server/**/*migrations.ts of both).
NEWEST = {
    "kibana": {"index-pattern": "7.11.0", "search": "7.9.3", "visualization": "8.0.0", "dashboard": "7.17.3"},
    "opensearch-dashboards": {
        "index-pattern": "7.6.0",
        "search": "7.9.3",
        "visualization": "7.10.0",
        "dashboard": "7.9.3",
    },
}
# The panels of filter lists in OpenSearch Dashboards, and their dashboards.
CONTROLS = [("controls", "duplicates"), ("health-controls", "health"), ("copied-controls", "copied")]
# The visualisations that both have.
SHAPES = {"metric", "histogram", "horizontal_bar", "vega", "table"}


def objects(product: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / f"{product}.ndjson").read_text("utf-8").splitlines()]


def unpacked(value: Any) -> Any:
    """The value with everything read that is JSON in a string."""
    if isinstance(value, str) and re.match(r'[{[]["{[\]}\s]', value) and not value.startswith("{{"):
        return unpacked(json.loads(value))
    if isinstance(value, dict):
        return {name: unpacked(each) for name, each in value.items()}
    return [unpacked(each) for each in value] if isinstance(value, list) else value


def walk(value: Any) -> Iterator[tuple[str, Any]]:
    """Every name and value in an object, at any depth."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield name, each
            yield from walk(each)
    elif isinstance(value, list):
        for each in value:
            yield from walk(each)


def without_labels(value: Any) -> Any:
    """The value without the labels of ranges, which OpenSearch Dashboards would send to the engine."""
    if isinstance(value, dict):
        hidden = {"label"} if "from" in value else set()
        return {name: without_labels(each) for name, each in value.items() if name not in hidden}
    return [without_labels(each) for each in value] if isinstance(value, list) else value


def number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


@pytest.mark.parametrize("product", PRODUCTS)
def test_the_files_are_what_the_generator_makes(product: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.delitem(sys.modules, "panels", raising=False)
    import make_dashboards

    assert (FOLDER / f"{product}.ndjson").read_text("utf-8") == make_dashboards.file_text(product)


def test_the_verdicts_have_their_words_and_each_its_color(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    import panels

    colors = {name for each in panels.CLUSTER_PANELS for name in getattr(each, "colors", ())}
    assert colors == set(get_args(VerdictWord))
    assert verdict_of("identical") == panels.COULD_GO
    # What was not read is not said to go.
    assert {verdict_of(UNVERIFIED), verdict_of("")} == {"stays"}


@pytest.mark.parametrize("product", PRODUCTS)
def test_ids_are_fixed_unique_and_of_the_index(product: str) -> None:
    ids = [(each["type"], each["id"]) for each in objects(product)]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"neardup-INDEX_NAME-[a-z-]+", name) for _, name in ids)


def test_both_files_hold_the_same_panels() -> None:
    kibana, other = ({each["id"]: each for each in objects(product)} for product in PRODUCTS)
    assert other.keys() - kibana.keys() == {f"neardup-INDEX_NAME-{each}" for each, _ in CONTROLS}
    assert kibana.keys() <= other.keys()
    for name, each in kibana.items():
        if each["type"] != "dashboard":
            for attribute in ("fieldAttrs", "rowHeight", "grid"):
                each["attributes"].pop(attribute, None)
            assert unpacked(other[name]) == without_labels(unpacked(each))


@pytest.mark.parametrize("product", PRODUCTS)
def test_kinds_attributes_and_versions_are_known_to_the_products(product: str) -> None:
    for each in objects(product):
        kind = each["type"]
        more = KIBANA_ATTRIBUTES.get(kind, set()) if product == "kibana" else set()
        assert set(each) == {"id", "type", "attributes", "references", "migrationVersion"}
        assert set(each["attributes"]) <= ATTRIBUTES[kind] | more, each["id"]
        [(versioned, version)] = each["migrationVersion"].items()
        assert versioned == kind
        assert number(version) <= number(NEWEST[product][kind]), each["id"]
        if kind == "visualization":
            controls = {"input_control_vis"} if product != "kibana" else set()
            assert json.loads(each["attributes"]["visState"])["type"] in SHAPES | controls


@pytest.mark.parametrize("product", PRODUCTS)
def test_every_reference_is_used_and_leads_to_an_object_before(product: str) -> None:
    seen: set[tuple[str, str]] = set()
    for each in objects(product):
        named = [reference["name"] for reference in each["references"]]
        assert len(set(named)) == len(named)
        assert {(reference["type"], reference["id"]) for reference in each["references"]} <= seen, each["id"]
        inside = unpacked(each["attributes"])
        # Kibana names a panel's reference after the panel, and a control's after the control.
        wanted = set()
        for name, value in walk(inside):
            if name in ("indexRefName", "indexPatternRefName"):
                wanted.add(value)
        for panel in inside.get("panelsJSON", ()):
            prefix = f"{panel['panelIndex']}:" if product == "kibana" else ""
            wanted.add(prefix + panel["panelRefName"])
        for name in inside.get("controlGroupInput", {}).get("panelsJSON", ()):
            wanted.add(f"controlGroup_{name}:optionsListDataView")
        assert set(named) == wanted, each["id"]
        seen.add((each["type"], each["id"]))


@pytest.mark.parametrize("product", PRODUCTS)
def test_panels_do_not_overlap(product: str) -> None:
    for each in objects(product):
        taken: set[tuple[int, int]] = set()
        for panel in json.loads(each["attributes"].get("panelsJSON", "[]")):
            place = panel["gridData"]
            cells = {
                (x, y)
                for x in range(place["x"], place["x"] + place["w"])
                for y in range(place["y"], place["y"] + place["h"])
            }
            assert not cells & taken
            assert place["x"] + place["w"] <= 48
            assert place["i"] == panel["panelIndex"]
            taken |= cells


def fields(tree: dict[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """The fields of a mapping that can be searched: their names and types."""
    for name, each in tree.items():
        if "properties" in each:
            yield from fields(each["properties"], f"{before}{name}.")
        elif each.get("index", True):
            yield before + name, each["type"]


KNOWN = {
    "neardup-INDEX_NAME-documents": dict(fields(properties())),
    "neardup-INDEX_NAME-clusters": dict(fields(dict(CLUSTER_PROPERTIES))),
    "neardup-INDEX_NAME-failures": dict(fields(dict(FAILURE_PROPERTIES))),
    "neardup-INDEX_NAME-passages": dict(fields(dict(COPIED_PROPERTIES))),
}


def used(each: dict[str, Any]) -> Iterator[str]:
    """The fields that a panel names."""
    inside = unpacked(each["attributes"])
    yield from inside.get("columns", ())
    yield from (name for name, _ in inside.get("sort", ()))
    for name, value in walk(inside):
        if name in ("field", "fieldName") and isinstance(value, str):
            yield value
        elif name == "query" and isinstance(value, str):
            yield from re.findall(r"(?<=_exists_:)[\w.]+", value)
            yield from re.findall(r'([a-z_.]+):(?:true|false|\d|")', value)


@pytest.mark.parametrize("product", PRODUCTS)
def test_every_field_is_in_the_mapping(product: str) -> None:
    checked = 0
    for each in objects(product):
        views = {reference["id"] for reference in each["references"] if reference["type"] == "index-pattern"}
        if each["type"] == "index-pattern":
            views = {each["id"]}
            if time := each["attributes"].get("timeFieldName"):
                assert KNOWN[each["id"]][time] == "date"
            named = {
                name
                for key in ("fieldFormatMap", "fieldAttrs")
                for name in json.loads(each["attributes"].get(key, "{}"))
            }
        elif each["type"] == "dashboard" or not views:
            continue
        else:
            # That one is the owner's.
            named = set(used(each)) - {"TIME_FIELD"}
            assert named, each["id"]
        for view in views:
            assert named - {"_id"} <= KNOWN[view].keys(), each["id"]
            checked += len(named)
    assert checked > 50


@pytest.mark.parametrize("product", PRODUCTS)
def test_hidden_fields_are_those_of_sketches_and_none_that_a_panel_shows(product: str) -> None:
    found = {each["id"]: each for each in objects(product)}
    view = found["neardup-INDEX_NAME-documents"]
    patterns = [each["value"] for each in json.loads(view["attributes"]["sourceFilters"])]
    sketches = {"neardup.simhash-doc.bits", "neardup.minhash.keys", "neardup.minhash.sketch"}
    sketches |= {f"neardup.simhash-doc.t{number:02}" for number in range(16)}
    names = KNOWN[view["id"]].keys() | sketches
    assert {name for name in names if any(fnmatchcase(name, pattern) for pattern in patterns)} == sketches
    shown = [name for each in found.values() if "columns" in each["attributes"] for name in used(each)]
    assert len(shown) > 15
    assert not sketches & set(shown)


def test_columns_have_heads_that_tell_them_apart() -> None:
    found = {each["id"]: each for each in objects("kibana")}
    for each in found.values():
        if each["type"] != "search":
            continue
        [view] = each["references"]
        given = json.loads(found[view["id"]]["attributes"].get("fieldAttrs", "{}"))
        heads = [given.get(name, {}).get("customLabel", name) for name in each["attributes"]["columns"]]
        # This many characters of a head are seen where eight columns share the width.
        assert len({head[:14] for head in heads}) == len(heads), each["id"]


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize("view", ["documents", "clusters"])
def test_the_link_to_members_has_the_columns_and_the_order_of_their_search(product: str, view: str) -> None:
    found = {each["id"]: each["attributes"] for each in objects(product)}
    link = json.loads(found[f"neardup-INDEX_NAME-{view}"]["fieldFormatMap"])["neardup.cluster.id"]["params"]
    search = found["neardup-INDEX_NAME-members"]
    sort = ",".join(f"!({name},{way})" for name, way in search["sort"])
    assert f"columns:!({','.join(search['columns'])}),sort:!({sort})," in link["urlTemplate"]


@pytest.mark.parametrize("product", PRODUCTS)
def test_no_panel_needs_a_script_or_a_runtime_field(product: str) -> None:
    for each in objects(product):
        for name, _ in walk(unpacked(each["attributes"])):
            assert name not in ("script", "scripted", "runtimeFieldMap", "runtime_mappings", "script_fields"), each[
                "id"
            ]


@pytest.mark.parametrize(("name", "board"), CONTROLS)
def test_controls_are_the_same_in_both_and_narrow_all_they_should(name: str, board: str) -> None:
    both = {product: {each["id"]: each["attributes"] for each in objects(product)} for product in PRODUCTS}
    panel = unpacked(both["opensearch-dashboards"][f"neardup-INDEX_NAME-{name}"])
    narrowed = [each["fieldName"] for each in panel["visState"]["params"]["controls"]]
    groups = unpacked(both["kibana"][f"neardup-INDEX_NAME-{board}"])["controlGroupInput"]["panelsJSON"]
    assert [each["explicitInput"]["fieldName"] for each in groups.values()] == narrowed
    assert "neardup.origin" in narrowed
    for view in ["passages"] if board == "copied" else ["documents", "clusters"]:
        assert set(narrowed) <= KNOWN[f"neardup-INDEX_NAME-{view}"].keys()


def test_what_the_cluster_panels_filter_by_is_in_clusters_too() -> None:
    """A click on a bar narrows the clusters by the field of its documents."""
    boards = {each["id"]: each for each in objects("kibana")}
    clicked = {
        name
        for panel in boards["neardup-INDEX_NAME-duplicates"]["references"]
        for name, value in walk(unpacked(boards[panel["id"]]["attributes"]))
        if panel["type"] == "visualization" and name == "visState"
        for each in value.get("aggs", ())
        if each["type"] in ("terms", "range")
        for name in [each["params"]["field"]]
    }
    names = ("id", "relation", "verdict", "repeats_origin", "repeats_similarity")
    assert clicked == {f"neardup.cluster.{each}" for each in names} | {"neardup.origin"}
    assert clicked <= KNOWN["neardup-INDEX_NAME-clusters"].keys()
