#ifndef HEADGATE_CCURL_H
#define HEADGATE_CCURL_H

#include <curl/curl.h>

// libcurl's options use functions with variable arguments, which Swift cannot call. This header has one function for
// each type of argument.

/// Sets an option that takes a number or a switch.
CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value);

/// Sets an option that takes text, which libcurl copies. NULL removes a default.
CURLcode ccurl_set_string(CURL *easy, CURLoption option, const char *value);

/// Sets an option that takes a list of lines. The list must live as long as the transfer.
CURLcode ccurl_set_list(CURL *easy, CURLoption option, struct curl_slist *lines);

/// Sets an option that takes bytes, which libcurl copies.
CURLcode ccurl_set_blob(CURL *easy, CURLoption option, const void *bytes, size_t count);

/// Makes the transfer a POST of these bytes, which must live as long as the transfer.
CURLcode ccurl_set_body(CURL *easy, const void *bytes, size_t count);

/// Sets the function that gets the bytes of the answer's body.
CURLcode ccurl_set_reader(CURL *easy, curl_write_callback reader, void *context);

/// Sets the function that gets the lines of the answer's head.
CURLcode ccurl_set_header_reader(CURL *easy, curl_write_callback reader, void *context);

/// Returns the status of the last answer, or 0 if there is none.
long ccurl_status(CURL *easy);

/// Returns the errno of the last failed connect, or 0 if there was none.
long ccurl_connect_error(CURL *easy);

/// Returns the status of a proxy's last answer to CONNECT, or 0 if there was none.
long ccurl_connect_status(CURL *easy);

/// Returns the number of sent bytes of request headers, or 0 if no request could be made.
long ccurl_request_size(CURL *easy);

/// Returns the number of bytes of the request's body that the system has accepted.
curl_off_t ccurl_uploaded(CURL *easy);

/// Returns the socket of the transfer's connection if the connection is kept and uses HTTP/2, otherwise
/// CURL_SOCKET_BAD.
curl_socket_t ccurl_multiplexed_socket(CURL *easy);

/// Sets the function that closes the sockets of connections.
CURLcode ccurl_set_closer(CURL *easy, curl_closesocket_callback closer, void *context);

/// Sets an option of all transfers that takes a number.
CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value);

/// Sets the function that learns which sockets to watch.
CURLMcode ccurl_multi_set_socket_callback(CURLM *multi, curl_socket_callback callback, void *context);

/// Sets the function that learns when libcurl wants to be called without an event.
CURLMcode ccurl_multi_set_timer_callback(CURLM *multi, curl_multi_timer_callback callback, void *context);

#endif
