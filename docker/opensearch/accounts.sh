#!/bin/bash
# Makes the user `neardup` with what its commands need and nothing else.
set -euo pipefail
cd "${SECRETS:-/usr/share/opensearch/config/secrets}"
api=${ENGINE:-https://opensearch:9200}/_plugins/_security/api

# send PATH: the body comes by standard input.
send() {
  curl --fail-with-body --silent --show-error --config admin.curl --request PUT "$api$1" \
    --header 'Content-Type: application/json' --data-binary @-
  echo
}

send /roles/neardup <<END
{
  "cluster_permissions": [
    "cluster_composite_ops", "cluster_monitor", "cluster_manage_index_templates", "cluster_manage_pipelines",
    "cluster:admin/component_template/*", "indices:data/read/point_in_time/*"
  ],
  "index_permissions": [
    {
      "index_patterns": ["documents", "neardup-documents-*"],
      "allowed_actions": ["read", "write", "create_index", "manage"]
    }
  ]
}
END
printf '{"password": "%s"}' "$(cat neardup.password)" | send /internalusers/neardup
send /rolesmapping/neardup <<END
{"users": ["neardup"]}
END
# The role of Dashboards' own with which saved objects are written.
send /rolesmapping/kibana_user <<END
{"backend_roles": ["kibanauser"], "users": ["neardup"]}
END
