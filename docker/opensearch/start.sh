#!/bin/bash
# Starts OpenSearch with two users and their own passwords: the image's default users have passwords that all know.
# The security plugin reads the file when it has no users yet, and never again.
set -euo pipefail
cd "${OPENSEARCH_HOME:-/usr/share/opensearch}"
secrets=config/secrets

# hash FILE: the plugin's tool also prints remarks.
# shellcheck disable=SC2016 # the dollars are part of the hash
hash() {
  PASSWORD=$(cat "$1") bash plugins/opensearch-security/tools/hash.sh -env PASSWORD | grep --only-matching '^\$2[aby]\$.*'
}

admin=$(hash "$secrets/admin.password")
dashboards=$(hash "$secrets/dashboards.password")
cat >config/opensearch-security/internal_users.yml <<END
_meta:
  type: internalusers
  config_version: 2
admin:
  hash: "$admin"
  reserved: true
  backend_roles: [admin]
kibanaserver:
  hash: "$dashboards"
  reserved: true
END
exec ./opensearch-docker-entrypoint.sh opensearch
