variable "s" {
  sensitive = true
  default   = "x.tfstate"
}
terraform {
  backend "local" {
    path  = var.s
    bogus = 1
  }
}
