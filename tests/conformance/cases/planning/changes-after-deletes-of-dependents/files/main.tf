resource "terraform_data" "base" {
  triggers_replace = 1
  lifecycle { create_before_destroy = true }
  provisioner "local-exec" {
    command = "sleep 1; echo base 1 is created >> order.log"
  }
}
resource "terraform_data" "replaced" {
  triggers_replace = terraform_data.base.id
  provisioner "local-exec" {
    when    = destroy
    command = "echo replaced is destroyed >> order.log"
  }
}
resource "terraform_data" "removed" {
  count = 1
  input = terraform_data.base.id
  provisioner "local-exec" {
    when    = destroy
    command = "sleep 0.3; echo removed is destroyed >> order.log"
  }
}
resource "terraform_data" "create_first" {
  count = 1
  input = terraform_data.base.id
  lifecycle { create_before_destroy = true }
  provisioner "local-exec" {
    when    = destroy
    command = "echo create_first is destroyed >> order.log"
  }
}
