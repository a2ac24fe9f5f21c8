package interceptor

import "testing"

func checkStream(t *testing.T, body string) {}
