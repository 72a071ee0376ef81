#!/bin/sh
# Makes what a cluster of these compose files keeps secret, once: a certificate authority, a certificate and passwords
# for each service, in a folder for each, which only its service mounts. Certificates that end soon are made again.
#
# secrets.sh ENGINE DASHBOARDS: the names of the two services. Runs as root, because each folder belongs to another user.
set -eu
umask 077

engine=$1
dashboards=$2
root=${SECRETS:-/secrets}
# The users that the images run as.
engine_user=1000
dashboards_user=1000
neardup_user=10001
days=825
month=2592000

password() { openssl rand -hex 24; }

# keep FILE COMMAND...: writes what the command prints, unless the file is there.
keep() {
  file=$1
  shift
  [ -s "$file" ] || { "$@" >"$file.new" && mv "$file.new" "$file"; }
}

mkdir -p "$root/authority" "$root/engine" "$root/dashboards" "$root/neardup"
cd "$root"

ends_soon() { ! openssl x509 -checkend "$month" -noout -in "$1" >/dev/null 2>&1; }

if ends_soon authority/ca.crt; then
  openssl req -x509 -newkey rsa:3072 -noenc -days 3650 -subj "/CN=neardup sample authority" \
    -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign \
    -keyout authority/ca.key -out authority/ca.crt 2>/dev/null
  rm -f engine/server.crt dashboards/server.crt
fi

# certificate FOLDER NAME: for the service's name and for this machine.
certificate() {
  if ends_soon "$1/server.crt"; then
    openssl req -x509 -newkey rsa:3072 -noenc -days "$days" -subj "/CN=$2" \
      -CA authority/ca.crt -CAkey authority/ca.key \
      -addext basicConstraints=critical,CA:FALSE -addext "subjectAltName=DNS:$2,DNS:localhost,IP:127.0.0.1" \
      -addext keyUsage=critical,digitalSignature,keyEncipherment -addext extendedKeyUsage=serverAuth,clientAuth \
      -keyout "$1/server.key" -out "$1/server.crt" 2>/dev/null
  fi
  cp authority/ca.crt "$1/ca.crt"
}
certificate engine "$engine"
certificate dashboards "$dashboards"
cp authority/ca.crt neardup/ca.crt

keep engine/admin.password password
keep engine/dashboards.password password
keep engine/neardup.password password

case $engine in
elasticsearch) admin=elastic ;;
*) admin="admin" ;;
esac
# For curl: a password in its arguments would be seen by every process of the machine.
cat >engine/admin.curl <<END
user = "$admin:$(cat engine/admin.password)"
cacert = "ca.crt"
END

cat >neardup/credentials.toml <<END
username = "neardup"
password = "$(cat engine/neardup.password)"
ca_cert = "/secrets/ca.crt"
END

keep dashboards/encryption.key password
key=$(cat dashboards/encryption.key)
common() {
  cat <<END
server.host: "0.0.0.0"
server.ssl.enabled: true
server.ssl.certificate: /secrets/server.crt
server.ssl.key: /secrets/server.key
$1.hosts: ["https://$engine:9200"]
$1.username: $2
$1.password: "$(cat engine/dashboards.password)"
$1.ssl.certificateAuthorities: [/secrets/ca.crt]
$1.ssl.verificationMode: full
END
}
if [ "$engine" = elasticsearch ]; then
  {
    common elasticsearch kibana_system
    cat <<END
xpack.security.encryptionKey: "$key"
xpack.encryptedSavedObjects.encryptionKey: "$key"
xpack.reporting.encryptionKey: "$key"
telemetry.optIn: false
END
  } >dashboards/dashboards.yml
else
  {
    common opensearch kibanaserver
    cat <<END
opensearch.requestHeadersAllowlist: [authorization, securitytenant]
opensearch_security.multitenancy.enabled: true
opensearch_security.multitenancy.tenants.preferred: [Global, Private]
opensearch_security.readonly_mode.roles: [kibana_read_only]
opensearch_security.cookie.secure: true
opensearch_security.cookie.password: "$key"
END
  } >dashboards/dashboards.yml
fi

chmod 700 authority engine dashboards neardup
chown -R "$engine_user" engine
chown -R "$dashboards_user" dashboards
chown -R "$neardup_user" neardup
echo "certificates and passwords are in place"
