terraform "x" {
}
terraform {
  required_version = var.v
  cloud {
    organization = "x"
  }
}
variable "v" { default = "1" }
