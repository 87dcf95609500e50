resource "terraform_data" "a" {
  connection {
    host = "h"
    port = "x"
    nope = 2
  }
  provisioner "local-exec" {
    command = "true"
    connection {
      user = "u"
    }
  }
}
