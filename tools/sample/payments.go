package sample

var captureSpec = keyed("payments.capture", "payments", "Capture an authorized payment: payment_id, amount, currency.")

var capturePayload = shape{
	"payment_id":         {required: true, rule: identifier},
	"amount":             {required: true, rule: amount},
	"currency":           {required: true, rule: currency},
	"description":        {rule: text(1000)},
	"merchant_reference": {rule: text(255)},
}

var refundSpec = keyed("payments.refund", "payments", "Refund a captured payment, in whole or in part: payment_id, amount.")

var refundPayload = shape{
	"payment_id": {required: true, rule: identifier},
	"amount":     {required: true, rule: amount},
	"currency":   {rule: currency},
	"reason":     {rule: text(1000)},
}
