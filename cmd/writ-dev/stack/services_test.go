package stack

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"writ/internal/sandbox"
	"writ/internal/statedir"
)

func TestALedgerThatCannotBeKeptIsRefusedWithItsOwnCode(t *testing.T) {
	t.Parallel()
	for code, spoil := range map[string]func(t *testing.T, ledger string) error{
		CodeLedgerInUse: func(t *testing.T, ledger string) error {
			other, err := sandbox.New(sandbox.Config{LedgerPath: ledger})
			if err == nil {
				t.Cleanup(func() { _ = other.Close() })
			}
			return err
		},
		CodeLedgerCorrupt: func(_ *testing.T, ledger string) error {
			return os.WriteFile(ledger, []byte("nonsense\n"), 0o600)
		},
		CodeLedgerNotWritable: func(_ *testing.T, ledger string) error {
			return os.Mkdir(ledger, 0o700)
		},
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			folder, err := statedir.Open(filepath.Join(t.TempDir(), "state"), 0o700)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = folder.Release() })
			if err := spoil(t, filepath.Join(folder.Path(), "ledger.jsonl")); err != nil {
				t.Fatal(err)
			}
			s := &Stack{options: Options{}.withDefaults(), folder: folder}
			var failure *Error
			if err := s.startProvider(t.Context()); !errors.As(err, &failure) || failure.Code() != code {
				t.Errorf("got %v, want %s", err, code)
			}
		})
	}
}
