#!/bin/bash
# Gives Kibana its password, and makes the user `neardup` with what its commands need and nothing else.
set -euo pipefail
cd "${SECRETS:-/usr/share/elasticsearch/config/secrets}"
url=${ENGINE:-https://elasticsearch:9200}

# send METHOD PATH: the body comes by standard input.
send() {
  curl --fail-with-body --silent --show-error --config admin.curl --request "$1" "$url$2" \
    --header 'Content-Type: application/json' --data-binary @-
  echo
}

printf '{"password": "%s"}' "$(cat dashboards.password)" | send POST /_security/user/kibana_system/_password
send PUT /_security/role/neardup <<END
{
  "cluster": ["monitor", "manage_index_templates", "manage_ingest_pipelines"],
  "indices": [
    {"names": ["documents", "neardup-documents-*"], "privileges": ["read", "write", "manage"]}
  ],
  "applications": [
    {"application": "kibana-.kibana", "privileges": ["space_all"], "resources": ["space:default"]}
  ]
}
END
printf '{"password": "%s", "roles": ["neardup"]}' "$(cat neardup.password)" | send PUT /_security/user/neardup
