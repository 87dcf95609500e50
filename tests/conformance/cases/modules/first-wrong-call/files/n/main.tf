variable "two" {}

module "k" {
  source = "./k"
  zero   = 0
}
