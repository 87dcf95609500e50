variable "gate" {
  type = string
}

resource "terraform_data" "t" {
  input = var.gate
}
