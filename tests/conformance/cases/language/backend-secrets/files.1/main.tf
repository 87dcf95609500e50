variable "s" {
  ephemeral = true
  default   = "x.tfstate"
}
terraform {
  backend "local" { path = var.s }
}
