package codec

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"writ/intent"
)

// maxSetting bounds a file of secrets in bytes. A key or token takes less than 400.
const maxSetting = 1 << 20

// Setting reads a secret from an environment variable, or from the file that the variable with _FILE
// behind its name gives, of at most 1 MiB. source is the one of the two that holds it; text is empty
// if neither is set. The error has code invalid_configuration and shows nothing of the secret.
func Setting(variable string) (text, source string, err error) {
	fileVariable := variable + "_FILE"
	text, file := os.Getenv(variable), os.Getenv(fileVariable)
	switch {
	case file == "":
		return text, variable, nil
	case text != "":
		return "", "", intent.Errorf(intent.CodeInvalidConfig, "%s and %s are both set; keep one of them", variable, fileVariable)
	}
	content, err := readSetting(file)
	if err != nil {
		return "", "", intent.Errorf(intent.CodeInvalidConfig, "%s cannot be read; name a file that holds what %s would: %w", fileVariable, variable, err)
	}
	return string(content), fileVariable, nil
}

// readSetting reads a file. Its error does not name it: where the secret itself was given as the
// name of its file, that would show it.
func readSetting(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, nameless(err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxSetting+1))
	if err == nil && len(content) > maxSetting {
		return nil, errors.New("it has more than 1 MiB")
	}
	return content, nameless(err)
}

func nameless(err error) error {
	var named *fs.PathError
	if errors.As(err, &named) {
		return named.Err
	}
	return err
}
