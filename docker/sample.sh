#!/bin/sh
# Sets the index up, and finds the near-duplicates among the documents. The store is named by
# NEARDUP_STORE, Kibana or OpenSearch Dashboards by DASHBOARDS.
set -eu
neardup setup --replicas 0 --pipelines --dashboards "$DASHBOARDS"
neardup index /documents
neardup cluster
neardup stats
neardup report --output /data/report.html
