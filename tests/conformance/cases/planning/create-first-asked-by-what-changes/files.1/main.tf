variable "text" {
  type    = string
  default = "a"
}

resource "terraform_data" "base" {
  input            = var.text
  triggers_replace = var.text
}

resource "terraform_data" "idle" {
}
