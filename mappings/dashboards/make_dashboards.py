"""Makes kibana.ndjson and opensearch-dashboards.ndjson from one description of the panels: run it after a change.

`INDEX_NAME` stands for the index's name in both files, `TIME_FIELD` for the field with the dates of its documents. The
objects are in the form of version 7.10, the last one that both products have in common, and say so: each product brings
them to its own. Kibana's import knows the versions named here from 8.3 on, that of OpenSearch Dashboards from 1.0 on.
Queries are in Lucene's syntax, which both send as it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from data_views import VIEWS, View
from panel_kinds import Chart, Controls, Dashboard, Metric, Panel, Search, Table, Vega
from panels import DASHBOARDS

Product = Literal["kibana", "opensearch-dashboards"]

FOLDER = Path(__file__).resolve().parent
INDEX = "INDEX_NAME"
_SINCE, _UNTIL = "now-5y", "now"
_SOURCE_REFERENCE = "kibanaSavedObjectMeta.searchSourceJSON.index"
# The form of the objects; a dashboard of Kibana's has controls, which came later.
_VERSIONS = {"index-pattern": "7.6.0", "search": "7.9.3", "visualization": "7.10.0", "dashboard": "7.9.3"}
_KIBANA_DASHBOARD = "7.17.3"


def id_of(name: str) -> str:
    """The id of an object: the same at every import, and another one for every index."""
    return f"neardup-{INDEX}-{name}"


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference to another object, by its name inside this one."""

    name: str
    kind: str
    target: str

    def body(self) -> dict[str, str]:
        """As the products write it."""
        return {"name": self.name, "type": self.kind, "id": id_of(self.target)}


def objects(product: Product) -> list[dict[str, Any]]:
    """All objects to import; an object comes after those it refers to."""
    made = [_view(view, product) for view in VIEWS.values()]
    for dashboard in DASHBOARDS:
        panels = [panel for panel in dashboard.panels if product != "kibana" or not isinstance(panel, Controls)]
        made += [_panel(panel, product) for panel in panels]
        made.append(_dashboard(dashboard, panels, product))
    return made


def file_text(product: Product) -> str:
    """The whole file, one object a line."""
    return "".join(json.dumps(each, separators=(",", ":")) + "\n" for each in objects(product))


def _object(
    kind: str, name: str, attributes: Mapping[str, Any], references: Sequence[Reference] = ()
) -> dict[str, Any]:
    return {
        "id": id_of(name),
        "type": kind,
        "attributes": attributes,
        "references": [each.body() for each in references],
        "migrationVersion": {kind: _VERSIONS[kind]},
    }


def _packed(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _view(view: View, product: Product) -> dict[str, Any]:
    formats = {field: {"id": kind, "params": params} for field, (kind, params) in view.formats.items()}
    attributes = {"title": view.title, "fieldFormatMap": _packed(formats)}
    if view.time_field:
        attributes["timeFieldName"] = view.time_field
    if view.hidden:
        attributes["sourceFilters"] = _packed([{"value": pattern} for pattern in view.hidden])
    if view.labels and product == "kibana":
        attributes["fieldAttrs"] = _packed({name: {"customLabel": label} for name, label in view.labels.items()})
    return _object("index-pattern", view.name, attributes)


def _source(view: str, query: str) -> tuple[dict[str, Any], list[Reference]]:
    body = {"query": {"query": query, "language": "lucene"}, "filter": [], "indexRefName": _SOURCE_REFERENCE}
    return {"searchSourceJSON": _packed(body)}, [Reference(_SOURCE_REFERENCE, "index-pattern", view)]


def _panel(panel: Panel, product: Product) -> dict[str, Any]:
    if isinstance(panel, Search):
        source, references = _source(panel.view, panel.query)
        shown: dict[str, Any] = {"columns": list(panel.columns), "sort": [list(each) for each in panel.sort]}
        if product == "kibana":
            # Rows of one line.
            shown |= {
                "rowHeight": 0,
                "grid": {"columns": {name: {"width": width} for name, width in panel.narrow.items()}},
            }
        about = {"title": panel.title, "description": panel.about}
        return _object("search", panel.name, {**about, **shown, "kibanaSavedObjectMeta": source}, references)
    if isinstance(panel, Metric | Chart | Table):
        source, references = _source(panel.view, panel.query)
        if isinstance(panel, Chart):
            kind, params = panel.shape, _chart(panel)
        else:
            kind, params = ("metric", _METRIC) if isinstance(panel, Metric) else ("table", _TABLE)
        state = {"type": kind, "aggs": _aggregations(panel, product), "params": params}
    elif isinstance(panel, Vega):
        source, references = (
            {"searchSourceJSON": _packed({"query": {"query": "", "language": "lucene"}, "filter": []})},
            [],
        )
        state = {"type": "vega", "aggs": [], "params": {"spec": json.dumps(panel.specification(), indent=2)}}
    else:
        source, state, references = {"searchSourceJSON": "{}"}, *_input_controls(panel)
    attributes = {
        "title": panel.title,
        "visState": _packed({"title": panel.title, **state}),
        "uiStateJSON": _packed(_shown(panel)),
        "description": panel.about,
        "version": 1,
        "kibanaSavedObjectMeta": source,
    }
    return _object("visualization", panel.name, attributes, references)


# Classic visualisations

_METRIC = {
    "addTooltip": True,
    "addLegend": False,
    "type": "metric",
    "metric": {
        "percentageMode": False,
        "useRanges": False,
        "colorSchema": "Green to Red",
        "metricColorMode": "None",
        "colorsRange": [{"from": 0, "to": 10000}],
        "labels": {"show": True},
        "invertColors": False,
        "style": {"bgFill": "#000", "bgColor": False, "labelColor": False, "subText": "", "fontSize": 28},
    },
}


_TABLE = {
    "perPage": 10,
    "showPartialRows": False,
    "showMetricsAtAllLevels": False,
    "sort": {"columnIndex": None, "direction": None},
    "showTotal": False,
    "totalFunc": "sum",
    "percentageCol": "",
}


def _aggregations(panel: Metric | Chart | Table, product: Product) -> list[dict[str, Any]]:
    made = []
    for number, each in enumerate(panel.aggregations, 1):
        params = dict(each.params)
        if each.kind == "range" and product != "kibana":
            # It would send the labels to the engine, which refuses them.
            params["ranges"] = [{side: at for side, at in one.items() if side != "label"} for one in params["ranges"]]
        made.append({"id": str(number), "enabled": True, "type": each.kind, "schema": each.role, "params": params})
    return made


def _shown(panel: Panel) -> dict[str, Any]:
    """The parts of a panel a user may change: colours, widths of columns, and their order."""
    if isinstance(panel, Chart):
        return {"vis": {"colors": dict(panel.colors)}}
    if isinstance(panel, Table):
        widths = [{"colIndex": place, "width": width} for place, width in panel.narrow.items()]
        largest = min(panel.narrow)
        kibana = {"colWidth": widths, "sort": {"columnIndex": largest, "direction": "desc"}}
        other = {"columnsWidth": widths, "sortColumn": {"colIndex": largest, "direction": "desc"}}
        return {"vis": {"params": kibana, **other}}
    return {}


def _chart(chart: Chart) -> dict[str, Any]:
    lying = chart.shape == "horizontal_bar"
    labels = {"show": True, "filter": True, "truncate": 200 if lying else 100, "rotate": 0}
    title = {"text": chart.axis}
    return {
        "type": "histogram",
        "grid": {"categoryLines": False},
        "categoryAxes": [
            {
                "id": "CategoryAxis-1",
                "type": "category",
                "position": "left" if lying else "bottom",
                "show": True,
                "scale": {"type": "linear"},
                "labels": labels,
                "title": {},
                "style": {},
            }
        ],
        "valueAxes": [
            {
                "id": "ValueAxis-1",
                "name": "BottomAxis-1" if lying else "LeftAxis-1",
                "type": "value",
                "position": "bottom" if lying else "left",
                "show": True,
                "scale": {"type": chart.scale, "mode": "normal"},
                "labels": {"show": True, "rotate": 0, "filter": True, "truncate": 100},
                "title": title,
                "style": {},
            }
        ],
        "seriesParams": [
            {
                "show": True,
                "type": "histogram",
                "mode": "stacked",
                "data": {"label": chart.axis, "id": "1"},
                "valueAxis": "ValueAxis-1",
                "drawLinesBetweenPoints": True,
                "lineWidth": 2,
                "showCircles": True,
            }
        ],
        "addTooltip": True,
        "addLegend": any(each.role == "group" for each in chart.aggregations),
        "legendPosition": "right",
        # In pixels, which later versions turn into names.
        "legendSize": 130 if chart.colors else 180,
        "times": [],
        "addTimeMarker": False,
        # Many bars have no room for a number, and bytes take much.
        "labels": {"show": not {"date_histogram", "sum"} & {each.kind for each in chart.aggregations}},
        "thresholdLine": {"show": False, "value": 10, "width": 1, "style": "full", "color": "#E7664C"},
    }


# Controls and dashboards


def _input_controls(panel: Controls) -> tuple[dict[str, Any], list[Reference]]:
    """Controls as OpenSearch Dashboards has them: a visualisation."""
    options = {"type": "terms", "multiselect": True, "dynamicOptions": True, "size": 50, "order": "desc"}
    controls, references = [], []
    for number, (field, label) in enumerate(panel.fields):
        name = f"control_{number}_index_pattern"
        about = {"id": field, "fieldName": field, "label": label, "parent": "", "type": "list"}
        controls.append({**about, "indexPatternRefName": name, "options": options})
        references.append(Reference(name, "index-pattern", panel.view))
    params = {"controls": controls, "updateFiltersOnChange": True, "useTimeFilter": True, "pinFilters": False}
    return {"type": "input_control_vis", "aggs": [], "params": params}, references


def _control_group(controls: Controls) -> tuple[dict[str, str], list[Reference]]:
    """Controls as Kibana has them: part of the dashboard."""
    panels, references = {}, []
    for order, (field, label) in enumerate(controls.fields):
        name = field.rpartition(".")[2]
        inside = {"id": name, "fieldName": field, "title": label, "selectedOptions": [], "enhancements": {}}
        shape = {"order": order, "width": "small", "grow": True}
        panels[name] = {**shape, "type": "optionsListControl", "explicitInput": inside}
        references.append(Reference(f"controlGroup_{name}:optionsListDataView", "index-pattern", controls.view))
    ignored = dict.fromkeys(("ignoreFilters", "ignoreQuery", "ignoreTimerange", "ignoreValidations"), False)
    group = {"controlStyle": "oneLine", "chainingSystem": "HIERARCHICAL", "panelsJSON": _packed(panels)}
    return group | {"ignoreParentSettingsJSON": _packed(ignored)}, references


def _dashboard(dashboard: Dashboard, panels: Sequence[Panel], product: Product) -> dict[str, Any]:
    placed, references = [], []
    for number, (panel, place) in enumerate(_places(panels)):
        kind = "search" if isinstance(panel, Search) else "visualization"
        name = f"panel_{panel.name if product == 'kibana' else number}"
        shown = {"title": panel.title} if product == "kibana" else {}
        index = panel.name if product == "kibana" else str(number + 1)
        about = {"panelIndex": index, "gridData": {**place, "i": index}, "version": "7.10.0", "panelRefName": name}
        placed.append({**about, **shown, "embeddableConfig": {"enhancements": {}}})
        prefix = f"{index}:" if product == "kibana" else ""
        references.append(Reference(prefix + name, kind, panel.name))
        if product == "kibana":
            placed[-1]["type"] = kind
    empty = {"query": {"query": "", "language": "lucene"}, "filter": []}
    attributes = {
        "title": dashboard.title.replace("INDEX", INDEX),
        "description": dashboard.about,
        "hits": 0,
        "version": 1,
        "timeRestore": True,
        "timeFrom": _SINCE,
        "timeTo": _UNTIL,
        "refreshInterval": {"pause": True, "value": 0},
        "optionsJSON": _packed({"useMargins": True, "hidePanelTitles": False}),
        "panelsJSON": _packed(placed),
        "kibanaSavedObjectMeta": {"searchSourceJSON": _packed(empty)},
    }
    for controls in (panel for panel in dashboard.panels if isinstance(panel, Controls) and product == "kibana"):
        attributes["controlGroupInput"], more = _control_group(controls)
        references += more
    made = _object("dashboard", dashboard.name, attributes, references)
    if product == "kibana":
        made["migrationVersion"] = {"dashboard": _KIBANA_DASHBOARD}
    return made


def _places(panels: Sequence[Panel]) -> list[tuple[Panel, dict[str, int]]]:
    """Panels side by side as far as the 48 columns reach, then in the next row."""
    placed: list[tuple[Panel, dict[str, int]]] = []
    x = y = height = 0
    for panel in panels:
        if x + panel.width > 48:
            x, y, height = 0, y + height, 0
        placed.append((panel, {"x": x, "y": y, "w": panel.width, "h": panel.height}))
        x, height = x + panel.width, max(height, panel.height)
    return placed


if __name__ == "__main__":
    for product in ("kibana", "opensearch-dashboards"):
        (FOLDER / f"{product}.ndjson").write_text(file_text(product), "utf-8")
