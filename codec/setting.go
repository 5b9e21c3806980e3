package codec

import (
	"os"

	"writ/intent"
)

// Setting reads a secret from an environment variable, or from the file that the variable with _FILE
// behind its name gives. source is the one of the two that holds it; text is empty if neither is
// set. The error has code invalid_configuration and shows nothing of the secret.
func Setting(variable string) (text, source string, err error) {
	fileVariable := variable + "_FILE"
	text, file := os.Getenv(variable), os.Getenv(fileVariable)
	switch {
	case file == "":
		return text, variable, nil
	case text != "":
		return "", "", intent.Errorf(intent.CodeInvalidConfig, "%s and %s are both set; keep one of them", variable, fileVariable)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return "", "", intent.Errorf(intent.CodeInvalidConfig, "%s cannot be read: %w", fileVariable, err)
	}
	return string(content), fileVariable, nil
}
