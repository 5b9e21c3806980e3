package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"writ/codec"
)

const codecToken = "0123456789abcdef0123"

// payloadKey is a key for tests that need one.
var payloadKey = "a:" + base64.StdEncoding.EncodeToString(make([]byte, 32))

// codecEnvironment sets exactly these variables of the endpoint.
func codecEnvironment(t *testing.T, keys, tokens, tokensFile string) {
	t.Helper()
	for name, value := range map[string]string{
		"WRIT_PAYLOAD_KEYS": keys, "WRIT_PAYLOAD_KEYS_FILE": "", codecTokensVariable: tokens, codecTokensFileVariable: tokensFile,
	} {
		t.Setenv(name, value)
	}
}

func TestTheCodecServerOpensWhatWasSealedUntilItIsStopped(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte("another-token-of-20-b\r\n"+codecToken+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	codecEnvironment(t, payloadKey, "", file)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	answers, stdout := io.Pipe()
	ended := make(chan int, 1)
	var stderr bytes.Buffer // read after the end only
	go func() {
		ended <- run(ctx, []string{"codec-server", "--listen", "127.0.0.1:0", "-o", "json"}, strings.NewReader(""), stdout, &stderr)
		_ = stdout.Close() // a reader that still waits learns that there is nothing
	}()
	line, err := bufio.NewReader(answers).ReadBytes('\n')
	if err != nil {
		t.Fatalf("it does not become ready: %v, status %d, %s", err, <-ended, stderr.String())
	}
	var ready struct {
		Ready   bool
		Address string
	}
	if err := json.Unmarshal(line, &ready); err != nil || !ready.Ready {
		t.Fatalf("its ready line is %q", line)
	}
	if status, _ := decode(t, ready.Address, "Bearer wrong"); status != http.StatusUnauthorized {
		t.Errorf("without the token: status %d", status)
	}
	if status, opened := decode(t, ready.Address, "Bearer "+codecToken); status != http.StatusOK || !strings.Contains(opened, base64.StdEncoding.EncodeToString([]byte("CANARY"))) {
		t.Errorf("with the token: status %d, %s", status, opened)
	}
	stop()
	if status := <-ended; status != 0 {
		t.Errorf("it ends with status %d, %s", status, stderr.String())
	}
	if strings.Contains(stderr.String(), codecToken) || strings.Contains(stderr.String(), payloadKey[2:]) {
		t.Errorf("it shows a secret: %s", stderr.String())
	}
}

// decode asks the endpoint to open a sealed payload.
func decode(t *testing.T, address, authorization string) (status int, answer string) {
	t.Helper()
	keys, err := codec.ParseKeys(payloadKey)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := keys.Codec().Encode([]*commonpb.Payload{{Data: []byte("CANARY")}})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := protojson.Marshal(&commonpb.Payloads{Payloads: sealed})
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address+"/decode", bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", authorization)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func TestACodecServerThatWouldOpenForEverybodyDoesNotStart(t *testing.T) {
	for name, c := range map[string]struct{ keys, tokens, file, line, want string }{
		"no keys":             {"", codecToken, "", "", "invalid_configuration: there are no payload keys"},
		"no token":            {payloadKey, "", "", "", "invalid_configuration: there is no token"},
		"blank tokens":        {payloadKey, " ,\n", "", "", "invalid_configuration: there is no token"},
		"a short token":       {payloadKey, "secret", "", "", "invalid_configuration: token 1 has 6 bytes"},
		"tokens twice":        {payloadKey, codecToken, "tokens", "", "are both set"},
		"no file of tokens":   {payloadKey, "", "no-such-file", "", "WRIT_CODEC_TOKENS_FILE cannot be read"},
		"everywhere":          {payloadKey, "", "", "--without-token --listen :0", "only for an address of this machine"},
		"every interface":     {payloadKey, "", "", "--without-token --listen 0.0.0.0:0", "only for an address of this machine"},
		"another machine":     {payloadKey, "", "", "--without-token --listen 192.0.2.1:0", "only for an address of this machine"},
		"a token and without": {payloadKey, codecToken, "", "--without-token", "exclude each other"},
		"an empty address":    {payloadKey, codecToken, "", "--listen=", "--listen is empty"},
		"an empty page":       {payloadKey, codecToken, "", "--ui-origin=", "--ui-origin is empty"},
		"every page":          {payloadKey, codecToken, "", "--ui-origin *", "invalid_configuration: what is given as the origin"},
		"no address of ours":  {payloadKey, codecToken, "", "--listen 192.0.2.1:0", "invalid_configuration: --listen 192.0.2.1:0"}, // RFC 5737: nobody has it
	} {
		codecEnvironment(t, c.keys, c.tokens, c.file)
		r := command(t, append([]string{"codec-server"}, strings.Fields(c.line)...)...)
		if r.status != 2 || !strings.Contains(r.stderr, c.want) || r.stdout != "" {
			t.Errorf("%s: status %d, %s%s", name, r.status, r.stdout, r.stderr)
		}
	}
}
