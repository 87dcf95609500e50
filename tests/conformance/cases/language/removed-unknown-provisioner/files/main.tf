removed {
  from = terraform_data.b
  lifecycle {
    destroy = false
  }
  provisioner "nope" {
    when = destroy
  }
}
