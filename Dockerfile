# The images of docker-compose.yml: `writ` (worker and client commands) and `provider`
# (the sandbox that stands in for a payment provider). Both binaries are static.

FROM golang:1.26 AS build
WORKDIR /src
# The modules first: they change less often than the code.
COPY go.mod go.sum ./
RUN GOWORK=off go mod download
COPY . .
RUN CGO_ENABLED=0 GOWORK=off go build -buildvcs=false -trimpath -ldflags='-s -w' -o /out/ ./cmd/writ ./cmd/writ-provider

# Alpine brings the certificates, and wget for the health check.
FROM alpine:3.22 AS runtime
RUN adduser -D -H -u 10001 writ && install -d -o writ -g writ /var/lib/writ
USER writ

FROM runtime AS provider
COPY --from=build /out/writ-provider /usr/local/bin/
VOLUME /var/lib/writ
EXPOSE 7766
ENTRYPOINT ["writ-provider"]

FROM runtime AS writ
COPY --from=build /out/writ /usr/local/bin/
ENTRYPOINT ["writ"]
