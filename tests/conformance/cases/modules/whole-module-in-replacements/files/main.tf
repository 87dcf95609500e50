resource "terraform_data" "r" {
  triggers_replace = 1
  provisioner "local-exec" {
    when    = destroy
    command = "sleep 0.5; echo r >> log"
  }
}
module "m" {
  source = "./m"
  v      = terraform_data.r.id
}
resource "terraform_data" "i" {
  triggers_replace = 1
  depends_on       = [module.m]
  provisioner "local-exec" {
    when    = destroy
    command = "sleep 1; echo i >> log"
  }
}
