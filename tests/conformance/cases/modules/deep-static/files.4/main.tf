variable "which" {}
module "mid" {
  source = "./mid"
  which  = var.which
}
