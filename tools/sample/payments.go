package sample

var captureSpec = keyed("payments.capture", "payments", "Capture an authorized payment: payment_id, amount, currency.")

var refundSpec = keyed("payments.refund", "payments", "Refund a captured payment, in whole or in part: payment_id, amount.")

func checkCapture(payload []byte) error {
	var p struct {
		PaymentID         identifier `json:"payment_id"`
		Amount            money      `json:"amount"`
		Currency          currency   `json:"currency"`
		Description       optional   `json:"description"`
		MerchantReference optional   `json:"merchant_reference"`
	}
	return decode(payload, &p, "payment_id", "amount", "currency")
}

func checkRefund(payload []byte) error {
	var p struct {
		PaymentID identifier `json:"payment_id"`
		Amount    money      `json:"amount"`
		Currency  currency   `json:"currency"`
		Reason    optional   `json:"reason"`
	}
	return decode(payload, &p, "payment_id", "amount")
}
